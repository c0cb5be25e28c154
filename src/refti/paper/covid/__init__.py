"""COVID-19 in South Korea: sixteen renewal models."""
