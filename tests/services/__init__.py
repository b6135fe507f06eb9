"""Real servers for tests: started once per test process, and gone with it even if it is killed."""
