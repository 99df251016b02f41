"""What every room stands on and that knows nothing of the project: errors, checks, random streams, safe files."""
