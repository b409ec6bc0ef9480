"""The paper's experiments, on its data and on yours: configuration, resumable store, figures."""
