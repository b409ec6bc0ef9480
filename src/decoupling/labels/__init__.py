"""What was said of each row, in any library's type."""
