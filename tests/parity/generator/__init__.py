"""Small adversarial clusters, drawn from a seed."""
