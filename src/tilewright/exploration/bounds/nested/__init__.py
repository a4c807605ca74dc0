"""Tiles above an array that contain those below it."""
