"""The servers' files: the image, docker-compose.yml, and its commands run as plain processes."""
