"""Real servers for tests: started once per test process, gone with it, even when it is killed hard."""
