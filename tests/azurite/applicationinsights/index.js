// Azurite loads this package, and calls it only where telemetry is on.
