package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdOptions are the flags of the etcd subcommand, named as etcd names them.
type etcdOptions struct {
	dataDir         string
	listenClientURL string
	listenPeerURL   string
}

func newEtcdCommand() *cobra.Command {
	var options etcdOptions
	command := &cobra.Command{
		Use:           "etcd",
		Short:         "Run a single etcd member until SIGINT or SIGTERM",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return runEtcd(options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.dataDir, "data-dir", "", "directory of the member's data")
	flags.StringVar(&options.listenClientURL, "listen-client-urls", "", "URL to serve clients on")
	flags.StringVar(&options.listenPeerURL, "listen-peer-urls", "", "URL to serve peers on")
	for _, name := range []string{"data-dir", "listen-client-urls", "listen-peer-urls"} {
		_ = command.MarkFlagRequired(name) // fails only for a flag that is not defined
	}
	return command
}

func runEtcd(options etcdOptions) error {
	config, err := options.config()
	if err != nil {
		return err
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	etcd, err := embed.StartEtcd(config)
	if err != nil {
		return fmt.Errorf("starting etcd: %w", err)
	}
	defer etcd.Close()

	select {
	case <-signals:
		return nil
	case err := <-etcd.Err():
		return fmt.Errorf("etcd stopped: %w", err)
	}
}

// config describes a cluster of one member that lives no longer than the tests.
func (o etcdOptions) config() (*embed.Config, error) {
	clientURL, err := url.Parse(o.listenClientURL)
	if err != nil {
		return nil, fmt.Errorf("--listen-client-urls: %w", err)
	}
	peerURL, err := url.Parse(o.listenPeerURL)
	if err != nil {
		return nil, fmt.Errorf("--listen-peer-urls: %w", err)
	}

	config := embed.NewConfig()
	config.Dir = o.dataDir
	config.ListenClientUrls = []url.URL{*clientURL}
	config.AdvertiseClientUrls = []url.URL{*clientURL}
	config.ListenPeerUrls = []url.URL{*peerURL}
	config.AdvertisePeerUrls = []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.LogLevel = "warn"
	config.UnsafeNoFsync = true // the data is not needed after a crash
	return config, nil
}
