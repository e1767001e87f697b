"""Tests commit another value to see which revision answers."""

version = "v1"
