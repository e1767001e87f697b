"""Loads a project's LangGraph graphs and speaks the worker protocol (protocol/worker)."""
