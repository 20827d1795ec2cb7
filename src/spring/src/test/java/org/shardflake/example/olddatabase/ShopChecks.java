/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.shardflake.example.olddatabase.ShopJournal.Account;
import org.springframework.context.ApplicationContext;
import org.springframework.dao.DuplicateKeyException;

/** The application's own tests. They run in every state of the adoption, for one part of the users, which has some in each shard. */
final class ShopChecks {

    private final ShopJournal journal;

    ShopChecks(OldShop old) throws SQLException {
        this.journal = ShopJournal.read(old, 0, Customers.PARTS);
    }

    ShopJournal journal() {
        return journal;
    }

    /** Runs them against the application, wherever its data are. */
    void pass(ApplicationContext application, String state) {
        for (Account account : List.copyOf(journal.accounts())) {
            ordersAreKept(application.getBean(Shop.class), account);
        }
        aNewUserLogsIn(application, state);
        theReportCountsEachItemOnce(application.getBean(Sales.class));
    }

    /** Places an order and changes it, and cancels the one that was placed in the state before. */
    private void ordersAreKept(Shop shop, Account account) {
        List<Long> earlier = account.orders().entrySet().stream()
                .filter(order -> order.getValue().get(0) <= OldShop.LAST_TESTED)
                .map(Map.Entry::getKey)
                .toList();
        long order = shop.place(account.id(), List.of(1, 2));
        journal.placed(account, order, List.of(1, 2));
        shop.add(account.id(), order, 3);
        journal.added(account, order, 3);
        for (long other : earlier) {
            assertThat(shop.products(account.id(), other)).containsExactly(1, 2, 3);
            assertThat(shop.cancel(account.id(), other)).isEqualTo(4);
            journal.cancelled(account, other);
        }
        String name = "has order " + order;
        shop.rename(account.id(), name);
        journal.renamed(account, name);

        assertThat(shop.name(account.id())).isEqualTo(name);
        assertThat(shop.products(account.id(), order)).containsExactly(1, 2, 3);
        assertThat(shop.titles(account.id(), order))
                .containsExactly("category 1: product 1", "category 1: product 2", "category 1: product 3");
        assertThat(shop.orders(account.id()))
                .containsEntry(order, 3)
                .containsOnlyKeys(account.orders().keySet());
    }

    private void aNewUserLogsIn(ApplicationContext application, String state) {
        Logins logins = application.getBean(Logins.class);
        Account account = Customers.register(journal, application, state);

        assertThat(logins.find(account.email())).contains(account.id());
        assertThat(logins.find("not." + account.email())).isEmpty();
        assertThatThrownBy(() -> logins.newUser(account.email())).isInstanceOf(DuplicateKeyException.class);
        assertThat(application.getBean(Shop.class).name(account.id())).isEqualTo(account.name());
    }

    private void theReportCountsEachItemOnce(Sales sales) {
        assertThat(sales.byCategory()).containsEntry(OldShop.TESTED, journal.items(1, OldShop.LAST_TESTED));
    }
}
