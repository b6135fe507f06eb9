"""What tools are made with: arguments, results, context, errors. Tools import these names from `tools.base`."""
