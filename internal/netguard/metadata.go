package netguard

import (
	"net/netip"
	"slices"
	"strings"
)

// A cloud's metadata service gives the credentials of the machine to every program that can send it
// a request. No webhook and no agent host is there.

// metadataAddresses are the addresses of metadata services and of what hands out credentials to
// containers. The public guard refuses them all; this list is for networks that an operator allowed,
// such as fd00::/8.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google, DigitalOcean, OpenStack and others
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google
	netip.MustParseAddr("fe80::a9fe:a9fe"), // OpenStack
	netip.MustParseAddr("169.254.170.2"),   // AWS, containers of ECS
	netip.MustParseAddr("169.254.170.23"),  // AWS, pods of EKS
	netip.MustParseAddr("fd00:ec2::23"),    // the same
	netip.MustParseAddr("168.63.129.16"),   // Azure, wire server
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
	netip.MustParseAddr("169.254.42.42"),   // Scaleway
	netip.MustParseAddr("fd00:42::42"),     // the same
	netip.MustParseAddr("169.254.0.23"),    // Tencent Cloud
}

// metadataNames are names that resolve to them, most of them only inside the cloud.
var metadataNames = []string{
	"metadata",
	"metadata.google.internal",
	"metadata.goog",
	"instance-data",
	"instance-data.ec2.internal",
	"metadata.azure.internal",
	"metadata.tencentyun.com",
	"api.metadata.cloud.ibm.com",
	"metadata.platformequinix.com",
	"metadata.packet.net",
}

func isMetadataAddress(addr netip.Addr) bool {
	return slices.Contains(metadataAddresses, addr.Unmap().WithZone(""))
}

// IsMetadataName reports whether a name in any case, with or without a final dot, is that of a
// cloud's metadata service or below it.
func IsMetadataName(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	return slices.ContainsFunc(metadataNames, func(known string) bool {
		return name == known || strings.HasSuffix(name, "."+known)
	})
}
