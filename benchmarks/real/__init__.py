"""Labels that people gave, and mistakes that follow the row, beside arg max and cleanlab."""
