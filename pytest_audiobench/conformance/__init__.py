"""Every scorer held to reference cases that other libraries computed."""
