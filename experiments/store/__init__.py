"""Results folders: their manifests and records."""
