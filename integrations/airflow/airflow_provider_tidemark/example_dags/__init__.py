"""DAGs to begin with."""
