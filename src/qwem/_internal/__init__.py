"""What several rooms need."""
