"""Facts of the installation that pages and routes tell."""
