"""From a table with bad labels to the files that people work with."""
