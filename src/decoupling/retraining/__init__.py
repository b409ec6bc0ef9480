"""p(y|x) from p(y|s,x): the classifier again, on classes instead of labels.

`rounds` is the loop where labels may be wrong, `right_labels` that where they are right. Both
choose rows by `trusted_rows` and fit classes by `lessons`. `sizes` corrects p(y|x) by held-out
labels, `spreading` lets labels spread between neighbours, and `answer` is what is predicted.
"""
