"""Checks of our own that no stock tool makes: room order, lengths, messages, wording."""
