"""Tests of the practice model."""
