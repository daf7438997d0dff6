"""Features: each folder is one use of constraints beyond reaching for a target."""
