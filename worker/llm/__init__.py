"""The model client: requests and replies, deadlines, prices, and what an endpoint's errors mean."""
