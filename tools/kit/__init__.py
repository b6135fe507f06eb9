"""The parts that tools are made of: arguments, results, context, errors. Tools import these from `tools.base`."""
