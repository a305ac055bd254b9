// Command cmd runs the example backend of the two-container setup.
package main

import "bellhop/deploy/headless/backend"

func main() { backend.Main() }
