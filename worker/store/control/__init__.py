"""What people and endpoints decide about runs: cancel, pause, resume, retry, approvals, parking, endpoint pauses."""
