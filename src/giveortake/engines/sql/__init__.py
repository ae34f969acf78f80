"""What engines that speak SQL share: plans and questions as statements, in the words of a dialect."""
