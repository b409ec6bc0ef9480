"""How likely given labels are, and what makes them likelier: temperatures, offsets, mixtures."""
