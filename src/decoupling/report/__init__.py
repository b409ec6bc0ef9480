"""What a fitted classifier has to say, for people: a page, Markdown and JSON."""
