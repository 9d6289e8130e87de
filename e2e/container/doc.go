// Package container tests how queue-server runs in containers: the Helm chart of deploy/helm and the objects of
// deploy/kubernetes on a real Kubernetes API server, with the definitions of the resources of others, and deploy/compose.
// The API server stores what it is given and runs no pods: the tests run the commands of the pods themselves.
package container
