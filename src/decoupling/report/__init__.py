"""Reports on a fitted classifier, for people: a page, Markdown and JSON.

`facts` takes arrays from the classifier, and `content` makes of them one dictionary with all that
the report says. Its parts are `verdict`, which has the sentences, `light`, `review`, `changes` and
`reproduction`. `page`, `markdown` and `document` show the dictionary and add nothing to it; `text`,
`charts` and `thumbnails` write numbers, names and pictures for them.
"""
