"""Files of people: tables in, features for a classifier, tables out.

`reading` opens a file. For a text file it asks `decoding` for the encoding, `parsing` for delimiter
and header, and `cells` for the values. `problem` then finds the roles of the columns: labels in
`label_column`, features in `features`, p(label | x) in `probabilities`, pictures in `images`.
`values` makes numbers of features, and `doubts`, `units` and `ranges` look for mistakes in them.
`estimators` are classifiers by name. `writing` writes tables.
"""
