"""Files of people: tables in, features for a classifier, tables out."""
