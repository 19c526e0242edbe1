"""Tests of the wheel in a new environment without this project folder."""
