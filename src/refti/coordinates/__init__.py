"""Coordinates in which a posterior is rounder: maps fitted to draws, and models seen in them."""
