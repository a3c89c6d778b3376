//! Which pulls need an image check, and which images are covered by one.

use crate::image::PullPolicy;
use crate::pod::{List, Moment, Pod, Pull};
use crate::settings::Form;

/// An image that is not covered.
pub struct Uncovered {
    /// The position of the image in the list of all images.
    pub image: usize,
    /// The position of the first pull that needs a check.
    pub pull: usize,
    /// The pull policy that the check needs: the strongest of all pulls with this image.
    pub policy: PullPolicy,
}

/// The images that are not covered. `images` has the positions of the pulls with each image.
pub fn uncovered(pod: &Pod<'_>, images: &[Vec<usize>]) -> Vec<Uncovered> {
    let needs = Needs::of(pod);
    let mut uncovered = Vec::new();
    for (image, pulls) in images.iter().enumerate() {
        let strongest = pod
            .at(pulls)
            .filter(|(_, pull)| pull.start.moment.is_some())
            .map(|(_, pull)| pull.policy)
            .max();
        if let (Some(pull), Some(policy)) = (needs.first_uncovered(pulls), strongest) {
            uncovered.push(Uncovered {
                image,
                pull,
                policy,
            });
        }
    }
    uncovered
}

/// What decides whether the images of a Pod are covered.
struct Needs<'p, 'o> {
    pod: &'p Pod<'o>,
    /// Whether added checks are image volumes, and so block the whole Pod.
    is_with_volumes: bool,
    /// When the first init container starts. None if the Pod has none.
    first_init: Option<Moment>,
    /// When the Pod's work begins: with the app containers. If added checks are image volumes,
    /// with the first init container, if there is one.
    work: Moment,
    /// When the first pull is made that needs a check.
    first_needing: Moment,
    /// Whether only one app container is not exempt.
    has_one_app: bool,
}

impl<'p, 'o> Needs<'p, 'o> {
    fn of(pod: &'p Pod<'o>) -> Self {
        let is_with_volumes = pod.settings.image_checks.form == Form::ImageVolume;
        let first_init = pod.first_init().and_then(|(_, pull)| pull.start.moment);
        let work = first_init.filter(|_| is_with_volumes);
        let mut needs = Self {
            pod,
            is_with_volumes,
            first_init,
            work: work.unwrap_or(Moment::APPS),
            first_needing: Moment::APPS,
            has_one_app: pod.apps().count() == 1,
        };
        let pulls = pod.pulls.iter();
        let needing = pulls.filter(|pull| pull.is_examined() && needs.needs_check(pull));
        let first = needing.filter_map(|pull| pull.start.moment).min();
        needs.first_needing = first.unwrap_or(Moment::APPS);
        needs
    }

    /// The position of the first pull of an image that needs a check, if the image is not covered.
    ///
    /// A check covers its image even if it is too weak: *weak-check* is about such checks.
    /// Which pull is reported doesn't depend on strength, because *pull-once* may lower a pull: a
    /// second run reports the same one.
    fn first_uncovered(&self, pulls: &[usize]) -> Option<usize> {
        let needing = || {
            let pulls = self.pod.at(pulls);
            pulls.filter(|(_, pull)| self.needs_check(pull))
        };
        let strongest = needing().map(|(_, pull)| pull.policy).max()?;
        let mut pulls = self.pod.at(pulls);
        if pulls.any(|(_, pull)| self.covers(pull, strongest)) {
            return None;
        }
        let mut uncovered = needing().filter(|(_, pull)| !self.blocks_everything(pull));
        uncovered.next().map(|(index, _)| index)
    }

    /// Whether an examined pull needs a check.
    fn needs_check(&self, pull: &Pull<'_>) -> bool {
        let moment = pull.start.moment;
        let is_after_first_init = self.first_init.is_some_and(|first| moment > Some(first));
        let mut mounting = self.pod.at(&pull.start.mounted_by);
        match pull.list {
            _ if pull.is_check => false,
            List::Containers => true,
            List::InitContainers => self.is_with_volumes && is_after_first_init,
            List::Volumes => {
                self.is_with_volumes
                    && (moment == Some(Moment::APPS) || is_after_first_init)
                    && mounting.any(|(_, container)| !container.settings.is_exempt)
            }
            List::EphemeralContainers => false,
        }
    }

    /// Whether a pull covers its image. `strongest` is the strongest pull policy of the pulls with
    /// this image that need a check.
    fn covers(&self, pull: &Pull<'_>, strongest: PullPolicy) -> bool {
        let is_init = pull.list == List::InitContainers;
        // The controller's own checks come after the init container that brings their program.
        let is_early_check =
            pull.is_check && is_init && pull.start.followed_from <= Some(self.first_needing);
        (pull.is_check || (is_init && pull.policy >= strongest))
            && (pull.start.gates(self.work) || is_early_check)
    }

    /// Whether all app containers start with this pull or not at all, and no init container does
    /// any work before. Native sidecars don't count.
    fn blocks_everything(&self, pull: &Pull<'_>) -> bool {
        let is_on_all = match pull.list {
            List::Volumes => pull.start.gates(Moment::APPS),
            _ => self.has_one_app,
        };
        self.first_init.is_none() && is_on_all
    }
}
