"""Control of runs by people and endpoints: cancel, pause, resume, approvals, parking, endpoint pauses."""
