"""Side by side with peers: every comparison runs in one go, in turns, so that noise hits all alike."""
