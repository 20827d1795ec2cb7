package org.shardflake.benchmarks.router;
import java.util.*;
import org.shardflake.cluster.*;
public class Try {
  interface W { Object run() throws Exception; }
  static void time(String what, int n, W w) {
    try { Object o = null; for (int i=0;i<n/4+1;i++) o = w.run(); long t=System.nanoTime(); for (int i=0;i<n;i++) o=w.run();
      String s = String.valueOf(o); System.out.printf("%-40s %10.1f us  %s%n", what, (System.nanoTime()-t)/1e3/n, s.substring(0, Math.min(100, s.length())));
    } catch (Throwable e) { System.out.println(what+" FAILED "+e); e.printStackTrace(System.out); }
  }
  public static void main(String[] a) throws Exception {
    int shards = Integer.getInteger("router.shards", 200);
    try (PostgresCluster c = PostgresCluster.builder().provider(PostgresProvider.EMBEDDED).servers(2).durable(true).start()) {
      long t=System.nanoTime();
      PhotoServers s = PhotoServers.prepare(c, shards, 20, 16);
      System.out.printf("prepared %d photos in %.1f s%n", s.photos().size(), (System.nanoTime()-t)/1e9);
      System.out.println(ShardingSphere.yaml(s.layout(), false));
      Random r = new Random(1);
      List<Photo> ps = s.photos();
      Map<String, W> open = new LinkedHashMap<>();
      open.put("bare", () -> new BareJdbc(s.layout(), 20)); open.put("spring", () -> new SpringRouting(s.layout(), 20));
      open.put("sphere", () -> new ShardingSphere(s.layout(), false)); open.put("sphere checked", () -> new ShardingSphere(s.layout(), true));
      open.put("flake jdbc", () -> new ShardflakeJdbc(s.layout())); open.put("flake jooq", () -> new ShardflakeJooq(s.layout()));
      for (var e : open.entrySet()) {
        System.out.println("== "+e.getKey());
        t=System.nanoTime();
        Peer p; try { p=(Peer)e.getValue().run(); } catch (Throwable x) { x.printStackTrace(System.out); continue; }
        try (p) {
        System.out.printf("open %.1f ms%n", (System.nanoTime()-t)/1e6);
        Photo one = ps.get(5);
        try { System.out.println(p.select(one.id()).equals(one)); } catch (Throwable x) { x.printStackTrace(System.out); }
        System.out.printf("first query after %.1f ms%n", (System.nanoTime()-t)/1e6);
        time("select", 5000, () -> p.select(ps.get(r.nextInt(ps.size())).id()));
        time("select tx", 5000, () -> p.selectInTransaction(ps.get(r.nextInt(ps.size())).id()));
        time("multi", 300, () -> { List<Long> ids=new ArrayList<>(); for(int i=0;i<100;i++) ids.add(ps.get(r.nextInt(ps.size())).id()); List<Photo> x=p.photos(ids); return x.size()+" of "+new HashSet<>(ids).size(); });
        time("newest", 20, () -> p.newest(20).equals(s.newest(20)));
        }
      }
      for (var e : open.entrySet()) { if (e.getKey().contains("checked")) continue;
        try (Peer p=(Peer)e.getValue().run()) {
        System.out.println("== "+e.getKey());
        time("insert", 1000, () -> p.insert(r.nextInt(100000), "x"));
        time("insert tx", 1000, () -> p.insertInTransaction(r.nextInt(100000), "x"));
        System.out.println(s.hasRow(new Photo(p.insert(7,"y"),7,"y")));
        } catch (Throwable x) { x.printStackTrace(System.out); }
      }
    }
  }
}
