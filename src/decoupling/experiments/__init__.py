"""The paper's experiments, on its data and on yours: configuration, resumable store, figures.

`agreement_terms`, `simulated_example`, `curves` and `self_training` are the experiments;
`curves_report` and `self_training_report` are the tables and figures of the last two. They share
`data`, `labelling_tasks`, `networks`, `scores`, `store`, `json_lines`, `findings` and `figures`.
"""
