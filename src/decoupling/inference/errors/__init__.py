"""Error bars of what was inferred.

`uncertainty` puts them together: from `response`, how rows answer to a change of T, or from
`leading_classes` where there are many classes. `reported` turns them into the T that users see, and
`trust` into reasons for the light. `integrated` finds T with the classes of the rows integrated
out, by `drawn_rows` and `log_transitions`. `overlap` compares the two, by the exact likelihood in
`marginal` and the tail of weights in `pareto`.
"""
