"""What constraints pose, turned into keys and proven."""
