package web

import (
	"context"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
)

const images = "../../docs/images"

// pictures are the README's: what each shows.
var pictures = map[string]string{
	"overview": "", "queue": "queue?name=orders", "message": "message?iid=order-1042", "dead": "dead", "horizon": "horizon",
}

// mostPicture bounds a picture's bytes: they are in the repository for good.
const mostPicture = 80_000

// The README's pictures are of this page: the test takes them (-update), and sees that all are there.
func TestScreenshots(t *testing.T) {
	if *update {
		takePictures(t)
	}
	for name := range pictures {
		for _, scheme := range []string{"light", "dark"} {
			file := filepath.Join(images, name+"-"+scheme+".png")
			content, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%v: go test ./integration/web -run TestScreenshots -update makes it", err)
				continue
			}
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			size, err := png.DecodeConfig(f)
			_ = f.Close()
			if err != nil || size.Width != 1280 || len(content) > mostPicture {
				t.Errorf("%s: %v, %d wide, %d bytes", file, err, size.Width, len(content))
			}
		}
	}
}

// takePictures makes a shop with some minutes of traffic, and takes the pictures.
func takePictures(t *testing.T) {
	harness.Admin(t, "create database shop template "+harness.QueueTemplate)
	t.Cleanup(func() { harness.Admin(t, "drop database shop with (force)") })
	harness.Admin(t, `create role anna login password 'a ''pass\word' in role mbus4_admin, pg_read_all_stats`)
	t.Cleanup(func() { harness.Admin(t, "drop role anna") })
	conn, direct := harness.Connect(t, harness.Proxied(), "shop"), harness.Connect(t, harness.Direct(), "shop")
	for _, sql := range []string{
		`select mbus4.create_queue(q, 4) from unnest(array['orders', 'invoices', 'mail', 'shipping', 'stock', 'reports']) q`,
		`select mbus4.create_consumer('orders', 'billing', '(t.properties->''PAID'') = ''yes''')`, `select mbus4.create_consumer('orders', 'audit')`,
		`select mbus4.create_trigger('orders', 'stock')`,
		`select mbus4.post('mail', hstore('to', 'c' || i || '@example.net'), delayed_until => now()::timestamp + interval '20 minutes') from generate_series(1, 38) i`,
		`select mbus4.post('reports', 'kind=>daily') from generate_series(1, 12)`, `select mbus4.pause_queue('reports')`,
		`select mbus4.post('dmq', hstore('order', (1000 + i)::text), headers => hstore(array['destination', 'invoices', 'dmq.error', case when i % 3 = 0 then 'no such customer' else 'connection to the printer timed out' end])) from generate_series(1, 23) i`,
		`select mbus4.post('orders', 'id=>1041, customer=>c7', iid => 'order-1041', properties => 'PAID=>yes')`,
		`select mbus4.post('orders', 'id=>1042, customer=>c7, total=>"129.90"', headers => 'consume_after=>"{order-1041}"'::hstore, properties => 'PAID=>yes', iid => 'order-1042')`,
		`select mbus4.post('orders', 'id=>1043, customer=>c7', headers => 'consume_after=>"{order-1042}"'::hstore, iid => 'order-1043')`,
	} {
		harness.Ask(t, conn, sql)
	}
	newVisitor(t, "127.0.0.1").mustLogIn("anna", "shop") // from here on there is a history
	end := time.Now().Add(harness.AskLimit)
	ctx, stop := context.WithDeadline(t.Context(), end)
	defer stop()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ { // traffic, for the charts
		posts := 30 + int(20*math.Sin(float64(n)/12)) + n%7
		harness.Ask(t, conn, fmt.Sprintf(`select mbus4.post(q, hstore('id', i::text)) from generate_series(1, %d) i, unnest(array['orders', 'invoices', 'shipping']) q`, posts))
		for _, who := range []string{"'orders', 'default'", "'orders', 'audit'", "'invoices', 'default'", "'shipping', 'default'", "'stock', 'default'"} {
			harness.Ask(t, conn, fmt.Sprintf("select count(*) from mbus4.consumen(%s, %d)", who, 38-n%9))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	pin := harness.Connect(t, harness.Direct(), "shop")
	harness.Ask(t, pin, "set application_name = 'nightly report'; begin isolation level repeatable read; select count(*) from mbus4.queue")
	harness.Ask(t, conn, "select mbus4.purge_queue('invoices')")
	harness.Ask(t, direct, "select pg_stat_force_next_flush()")
	b := newBrowser(t, screen{1280, 800, false})
	b.logIn("anna", password, "shop")
	if err := os.MkdirAll(images, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, path := range pictures {
		b.open(path)
		for _, scheme := range []string{"light", "dark"} {
			b.look(screen{1280, 800, scheme == "dark"})
			b.shoot(filepath.Join(images, name+"-"+scheme+".png"), false)
		}
	}
}
