// Command cmd is the example backend of the two-container set-up.
package main

import "bellhop/deploy/headless/backend"

func main() { backend.Main() }
