/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.shardflake.example.olddatabase.ShopJournal.Account;
import org.shardflake.jdbc.Poll;
import org.springframework.context.ApplicationContext;

/** Threads that use the shop all the time, each with users of its own. Each reads what it wrote. The first failure stops them. */
final class Customers implements AutoCloseable {

    static final int THREADS = 16;
    /** The users of threads have the other remainders by this number. */
    static final int PARTS = THREADS + 1;

    private static final int MOST_ACCOUNTS = 30;
    private static final int MOST_ORDERS = 8;

    private final List<ShopJournal> journals = new ArrayList<>();
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    private final AtomicInteger writes = new AtomicInteger();
    private final AtomicInteger reads = new AtomicInteger();
    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    private final ApplicationContext application;
    private volatile boolean isStopped;

    Customers(OldShop old, ApplicationContext application, long seed) throws SQLException {
        this.application = application;
        for (int i = 0; i < THREADS; i++) {
            journals.add(ShopJournal.read(old, i + 1, PARTS));
        }
        for (int i = 0; i < THREADS; i++) {
            int thread = i;
            threads.execute(() -> work(thread, new Random(seed + thread)));
        }
    }

    private void work(int thread, Random random) {
        ShopJournal journal = journals.get(thread);
        while (!isStopped && failures.isEmpty()) {
            try {
                visit(journal, thread, random);
            } catch (RuntimeException | Error e) {
                failures.add(e);
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random.nextInt(40))); // The servers share the machine.
        }
    }

    /** A write, and a read of the same user. */
    private void visit(ShopJournal journal, int thread, Random random) {
        Account account =
                journal.accounts().get(random.nextInt(journal.accounts().size()));
        int before = journal.writes();
        List<Long> orders = List.copyOf(account.orders().keySet());
        if (random.nextInt(20) == 0 && journal.accounts().size() < MOST_ACCOUNTS) {
            account = register(journal, application, "t%s-%s".formatted(thread, before));
        } else if (orders.isEmpty() || (random.nextInt(5) == 0 && orders.size() < MOST_ORDERS)) {
            List<Integer> products = List.of(product(random), product(random));
            journal.placed(account, application.getBean(Shop.class).place(account.id(), products), products);
        } else {
            change(
                    application.getBean(Shop.class),
                    journal,
                    account,
                    orders.get(random.nextInt(orders.size())),
                    random);
        }
        writes.addAndGet(journal.writes() - before);
        look(application, account, random);
        reads.incrementAndGet();
    }

    private static void change(Shop shop, ShopJournal journal, Account account, long order, Random random) {
        String name = "name " + random.nextInt(1000);
        switch (random.nextInt(6)) {
            case 0 -> {
                int rows = 1 + account.orders().get(order).size();
                assertThat(shop.cancel(account.id(), order)).isEqualTo(rows);
                journal.cancelled(account, order);
            }
            case 1 -> {
                shop.rename(account.id(), name);
                journal.renamed(account, name);
            }
            case 2 -> {
                assertThat(shop.renameByJdbc(account.id(), name)).isEqualTo(1);
                journal.renamed(account, name);
            }
            default -> {
                int product = product(random);
                shop.add(account.id(), order, product);
                journal.added(account, order, product);
            }
        }
    }

    private static int product(Random random) {
        return random.nextInt(OldShop.FIRST_PRODUCT, OldShop.LAST_PRODUCT + 1);
    }

    static Account register(ShopJournal journal, ApplicationContext application, String name) {
        String email = name + "@example.org";
        long user = application.getBean(Logins.class).newUser(email);
        application.getBean(Shop.class).register(user, email, name);
        return journal.registered(user, email, name);
    }

    /** Reads something of a user, and compares it with what this thread knows of it. */
    private static void look(ApplicationContext application, Account account, Random random) {
        Shop shop = application.getBean(Shop.class);
        switch (random.nextInt(4)) {
            case 0 ->
                assertThat(application.getBean(Logins.class).find(account.email()))
                        .contains(account.id());
            case 1 -> assertThat(shop.name(account.id())).isEqualTo(account.name());
            case 2 -> {
                Map<Long, Integer> lines = new TreeMap<>();
                account.orders().forEach((order, products) -> lines.put(order, products.size()));
                assertThat(shop.orders(account.id())).isEqualTo(lines);
            }
            default ->
                account.orders()
                        .forEach((order, products) ->
                                assertThat(shop.products(account.id(), order)).isEqualTo(products));
        }
    }

    /** Waits until this many more writes are acknowledged. */
    void awaitMore(int more) throws SQLException {
        int wanted = writes.get() + more;
        await(() -> writes.get() >= wanted);
    }

    private void await(Poll.Condition condition) throws SQLException {
        boolean isDone =
                Poll.everyMillis(10, Duration.ofMinutes(2)).until(() -> !failures.isEmpty() || condition.holds());
        check();
        assertThat(isDone).as(toString()).isTrue();
    }

    /** Fails if a call of the application has failed. */
    void check() {
        Throwable failure = failures.peek();
        if (failure != null) {
            throw new AssertionError("a customer's call failed; " + this, failure);
        }
    }

    /** Ends the threads, and returns their journals. */
    List<ShopJournal> stop() throws InterruptedException {
        end();
        assertThat(threads.awaitTermination(2, TimeUnit.MINUTES)).isTrue();
        check();
        return journals;
    }

    private void end() {
        isStopped = true;
        threads.shutdown();
    }

    /** Waits for calls that run, since the application and the databases are closed next. */
    @Override
    public void close() {
        end();
        try {
            if (!threads.awaitTermination(10, TimeUnit.SECONDS)) {
                threads.shutdownNow();
            }
        } catch (InterruptedException e) {
            threads.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public String toString() {
        return "%s writes acknowledged, %s reads of them, %s errors".formatted(writes, reads, failures.size());
    }
}
