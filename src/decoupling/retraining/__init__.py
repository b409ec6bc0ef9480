"""p(y|x) from p(y|s,x): the classifier again, on classes instead of labels."""
