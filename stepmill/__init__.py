"""The name under which stepmill is started; see `stepmill.__main__`."""
