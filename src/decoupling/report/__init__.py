"""Reports on a fitted classifier, for people: a page, Markdown and JSON."""
