"""Self-training that checks each label it gives by the labels of its neighbours."""
