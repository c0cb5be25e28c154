"""Coordinates in which a posterior is rounder: maps fitted to draws, models seen through them."""
